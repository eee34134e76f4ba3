"""The process that measures: what it may say, what it does, how it is started and stopped."""
