"""ACP clients that drive the real agent process, and the referee that watches every frame of all of them."""
