"""The real Claude Code and the real Codex, driven against stand-ins of their model APIs."""
