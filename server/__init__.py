"""The highest floor: the MCP app, the search and its agents, reports, and the command line."""
