"""What all rooms use: arrays, checks of arguments, randomness, parallel work, progress,
model files.
"""
