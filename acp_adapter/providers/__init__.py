"""Model APIs behind one port; only here are HTTP clients and model runtimes."""
