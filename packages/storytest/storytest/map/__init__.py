"""The map of a story: boxes, layers, layout, SVG."""
