"""`torch.utils.cpp_extension.load_inline` for confined candidates: recorded, built by the judge, kept by content."""
