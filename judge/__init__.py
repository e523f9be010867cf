"""What a verdict is, and how a model gives one."""
