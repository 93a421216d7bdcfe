"""The engine and what runs around it: agents, jobs, the client, import and export, metrics."""
