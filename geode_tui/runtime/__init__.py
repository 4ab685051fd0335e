"""The worker's side: loop, request path, guards, tools, approvals. Never imports the screen."""
