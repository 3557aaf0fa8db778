"""What an MCP client can read: it renders, it stores nothing."""
