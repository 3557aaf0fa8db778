"""kernelguild: an honest judge, a memory and a tree search for agents that write kernels."""
