"""What runs inside workers: one module per kind of program. Nothing written here is believed."""
