// This file draws a chart. Its colours are of a middle brightness, legible on white and on black; each
// series has a mark of its own as well.

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The picture in units of its own: where the frame lies within it.
const (
	width, height           = 720, 400
	left, right, top, below = 78, 684, 92, 350
	ink                     = "#767b85" // contrast 4.2 on white, 4.5 on the black of dark pages
)

// colours are those of series, in order.
var colours = [...]string{"#2f81f7", "#d9730d", "#2da160", "#a864d9", "#d6408f"}

// svg returns the picture. The same chart gives the same bytes.
func (c *chart) svg() []byte {
	x, y := c.scales()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" font-family="system-ui,sans-serif" font-size="12" fill="%s">`+"\n", width, height, ink)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(c.title), escape(c.describe()))
	fmt.Fprintf(&b, `<text x="%d" y="22" font-size="15" font-weight="600">%s</text>`+"\n", 12, escape(c.title))
	c.legend(&b)
	c.axes(&b, x, y)
	for i, s := range c.series {
		c.curve(&b, s, colours[i%len(colours)], i, x, y)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// describe says in words what the picture shows.
func (c *chart) describe() string {
	var parts []string
	for _, s := range c.series {
		if p := drawn(s.points); len(p) > 0 {
			first, last := p[0], p[len(p)-1]
			parts = append(parts, fmt.Sprintf("%s: %s at %s, %s at %s", s.name,
				c.amount(c.shown(first, first.cost())), count(first.size), c.amount(c.shown(last, last.cost())), count(last.size)))
		}
	}
	return fmt.Sprintf("%s against %s, both axes logarithmic. %s.", c.y(), c.x, strings.Join(parts, "; "))
}

// drawn are the points that have a place on a logarithmic axis.
func drawn(points []point) (p []point) {
	for _, one := range points {
		if one.size > 0 {
			p = append(p, one)
		}
	}
	return p
}

// legend names the series, two in a row.
func (c *chart) legend(b *bytes.Buffer) {
	for i, s := range c.series {
		x, y := float64(24+i%2*330), float64(42+i/2*18)
		mark(b, i, colours[i%len(colours)], x, y-4)
		fmt.Fprintf(b, `<text x="%g" y="%g">%s</text>`+"\n", x+14, y, escape(s.name))
	}
}

// scales returns those of both axes.
func (c *chart) scales() (x, y scale) {
	x, y = empty(left, right), empty(below, top)
	for _, s := range c.series {
		for _, p := range drawn(s.points) {
			x.widen(float64(p.size))
			y.widen(c.shown(p, p.cost()))
		}
	}
	x.round(1.05)
	y.round(1.5)
	return x, y
}

// axes draws a grid with its numbers, and what they count.
func (c *chart) axes(b *bytes.Buffer, x, y scale) {
	grid := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-opacity=".3"/>`+"\n", x1, y1, x2, y2, ink)
	}
	for _, v := range x.ticks() {
		if v < 1 { // there is no half of a thing
			continue
		}
		grid(x.at(v), top, x.at(v), below)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x.at(v), below+17, count(int(v)))
	}
	for _, v := range y.ticks() {
		grid(left, y.at(v), right, y.at(v))
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y.at(v)+4, c.tick(v))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s (logarithmic)</text>`+"\n", (left+right)/2, height-12, escape(c.x))
	fmt.Fprintf(b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+below)/2, escape(c.y()))
}

// tick is a number of an axis, without the digits that say nothing there.
func (c *chart) tick(v float64) string {
	number, unit, _ := strings.Cut(c.amount(v), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// curve draws a series: a line, a mark at each point, and how far the quartiles lie apart.
func (c *chart) curve(b *bytes.Buffer, s *series, colour string, kind int, x, y scale) {
	var path, spread strings.Builder
	points := drawn(s.points)
	for i, p := range points {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, x.at(float64(p.size)), y.at(c.shown(p, p.cost())))
		low, high := y.at(c.shown(p, quantile(p.runs, 0.25))), y.at(c.shown(p, quantile(p.runs, 0.75)))
		if low-high > 1 {
			fmt.Fprintf(&spread, "M%.1f %.1fV%.1f", x.at(float64(p.size)), low, high)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", &path, colour)
	if spread.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-opacity=".6"/>`+"\n", &spread, colour)
	}
	for _, p := range points {
		mark(b, kind, colour, x.at(float64(p.size)), y.at(c.shown(p, p.cost())))
	}
}

// mark draws a point: a circle, a square, a triangle, a diamond or a cross.
func mark(b *bytes.Buffer, kind int, colour string, x, y float64) {
	shapes := [...]string{"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "m-3.5-3.5h7v7h-7z", "m0-5l4.5 8h-9z", "m0-5l4.5 5l-4.5 5l-4.5-5z", "m-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z"}
	fmt.Fprintf(b, `<path d="M%.1f %.1f%s" fill="%s"/>`+"\n", x, y, shapes[kind%len(shapes)], colour)
}

// escape makes a text fit for XML.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}

// scale is a logarithmic axis.
type scale struct {
	low, high float64 // the least and the largest value
	from, to  float64 // where they lie
}

func empty(from, to float64) scale { return scale{math.Inf(1), math.Inf(-1), from, to} }

// widen makes a value lie on the axis.
func (s *scale) widen(v float64) { s.low, s.high = min(s.low, v), max(s.high, v) }

// round has the axis begin and end at 1, 2 or 5 of a power of ten, with some room.
func (s *scale) round(room float64) {
	s.low, s.high = s.low/room, s.high*room
	low, high := math.Inf(-1), math.Inf(1)
	for _, v := range nice(s.low/10, s.high*10) {
		if v <= s.low {
			low = v
		} else if v >= s.high {
			high = min(high, v)
		}
	}
	s.low, s.high = low, high
}

// at is where a value lies.
func (s scale) at(v float64) float64 {
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

// ticks are the values with a number: all that are nice, or powers of ten if those are many.
func (s scale) ticks() (few []float64) {
	all := nice(s.low, s.high)
	for _, v := range all {
		if len(all) <= 8 || strings.HasPrefix(strconv.FormatFloat(v, 'e', 0, 64), "1") {
			few = append(few, v)
		}
	}
	return few
}

// nice returns 1, 2 and 5 of each power of ten within bounds.
func nice(low, high float64) (all []float64) {
	for e := int(math.Floor(math.Log10(low))); float64(e) <= math.Log10(high)+1; e++ {
		for _, digit := range []string{"1", "2", "5"} {
			// Read as a decimal, a tick is the same number on every machine.
			v, _ := strconv.ParseFloat(digit+"e"+strconv.Itoa(e), 64)
			if v >= low && v <= high {
				all = append(all, v)
			}
		}
	}
	return all
}
