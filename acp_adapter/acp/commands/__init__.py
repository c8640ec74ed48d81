"""Slash commands: what a person can do from the prompt of any editor, without a model.

A command is not part of the conversation: it is neither stored nor sent to the model, but for `/queue` and `/steer`,
whose words are. A prompt that begins with a slash but names no command goes to the model as it is.
"""
