"""What each agent is: settings and prompt texts, as data."""
