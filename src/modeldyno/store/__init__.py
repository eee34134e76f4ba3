"""What is kept: runs in the workspace, durable before they are announced."""
