"""Front end: the editor. The Agent Client Protocol on stdio."""
