// Package plot draws pictures of series as SVG: rows of two panels, readable in light and dark, and without colours.
package plot
