"""Charts: data in, SVG out. Colours and the hatch are those of the page around them."""
