"""The tree search: PUCT over candidates, agents behind leases, every change an event."""
