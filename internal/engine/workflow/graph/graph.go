// This file has the graph of a workflow and its properties: an order of its nodes, its cycles, and
// the nodes that may run at the same time. It does not know runs. All functions are called while a
// file is compiled. They may take time that grows with a power of the nodes (maxNodes), but not
// with the number of ways, as that can be exponential.

package graph

import (
	"cmp"
	"slices"
	"strings"
)

// Vertex is a node of the graph, with all that was compiled of it.
type Vertex struct {
	Node
	Kind  Kind
	file  int // its number in the file
	Order int // in the graph: no edge leads from a higher one to a lower one
	in    []*edge
	out   []*edge // in the order of the file
	above bits    // by order: the nodes with a way to this one

	expression *expression
	prompt     *template     // of a human node
	input      *template     // of an agent node; nil: the run's input
	arguments  []*expression // one for each of Arguments; nil: the value as it stands
	output     []*expression // one for each of Output
	until      *expression

	Checkpoint bool // a person is asked before it
	Speaks     bool // its text is part of the answer
	Forgiving  bool // an edge looks at result.is_error: a failure continues
}

// IsEnd says that no edge leads on from the node.
func (n *Vertex) IsEnd() bool { return len(n.out) == 0 }

// DependsOn reports whether a way leads from the other node to this one.
func (n *Vertex) DependsOn(other *Vertex) bool { return n.above.has(other.Order) }

// Decided reports whether the state of the node is known. For the source of an incoming edge, ended
// returns its followed edges, and whether it has ended. open is true if a followed edge leads here.
func (n *Vertex) Decided(ended func(from *Vertex) (followed []int, ok bool)) (known, open bool) {
	for _, e := range n.in {
		followed, ok := ended(e.from)
		if !ok {
			return false, false
		}
		open = open || slices.Contains(followed, e.number)
	}
	return true, open
}

// edge is an edge of the graph.
type edge struct {
	Edge
	number    int // in the file
	from, to  *Vertex
	condition *expression // nil: none
}

// bits is a set of nodes by their order.
//
// All sets of one graph have the same length. The range is not checked: an order is always below
// the number of nodes.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// add is the union, in place.
func (b bits) add(other bits) {
	for i := range other {
		b[i] |= other[i]
	}
}

// sortNodes returns the nodes in the graph's order. The file's order decides where the edges do
// not. It gives each its number and the nodes above it. rest are those of cycles, and behind them.
//
// It is Kahn's algorithm with the file's order as the tie-breaker. So a file has the same order in
// every process: call ids and the order of the answer depend on it. in and out of the nodes must be
// complete.
func sortNodes(nodes []*Vertex) (list, rest []*Vertex) {
	open := map[*Vertex]int{}
	for _, n := range nodes {
		open[n] = len(n.in)
	}
	for {
		i := slices.IndexFunc(nodes, func(n *Vertex) bool { left, ok := open[n]; return ok && left == 0 })
		if i < 0 {
			break
		}
		n := nodes[i]
		delete(open, n)
		n.Order, n.above = len(list), newBits(len(nodes))
		for _, e := range n.in {
			n.above.set(e.from.Order)
			n.above.add(e.from.above)
		}
		for _, e := range n.out {
			open[e.to]--
		}
		list = append(list, n)
	}
	return list, slices.DeleteFunc(slices.Clone(nodes), func(n *Vertex) bool { _, ok := open[n]; return !ok })
}

// findCycles returns cycles of the nodes, each as the edges that make it, the last of which
// closes it. There is one at least if there is any, and no more than most.
//
// It is a depth-first search that reports the edges which lead back to the way under way. It does
// not find every cycle. But without the edges that close the reported ones the graph has no cycle,
// unless most has cut the list.
func findCycles(nodes []*Vertex, most int) (found [][]*edge) {
	const (
		fresh = iota
		open
		done
	)
	state := map[*Vertex]int{}
	var way []*edge
	var visit func(n *Vertex)
	visit = func(n *Vertex) {
		state[n] = open
		for _, e := range n.out {
			if len(found) == most {
				return
			}
			switch state[e.to] {
			case fresh:
				way = append(way, e)
				visit(e.to)
				way = way[:len(way)-1]
			case open:
				begin := slices.IndexFunc(way, func(w *edge) bool { return w.from == e.to })
				cycle := []*edge{}
				if begin >= 0 {
					cycle = append(cycle, way[begin:]...)
				}
				found = append(found, append(cycle, e))
			}
		}
		state[n] = done
	}
	for _, n := range nodes {
		if state[n] == fresh {
			visit(n)
		}
	}
	return found
}

// cycleText writes a cycle: a → b → a.
func cycleText(cycle []*edge) string {
	names := []string{cycle[0].from.ID}
	for _, e := range cycle {
		names = append(names, e.to.ID)
	}
	return strings.Join(names, " → ")
}

// reachableNodes returns the nodes with a way from the entry, itself among them.
func reachableNodes(entry *Vertex) map[*Vertex]bool {
	seen := map[*Vertex]bool{entry: true}
	for list := []*Vertex{entry}; len(list) > 0; {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		for _, e := range n.out {
			if !seen[e.to] {
				seen[e.to] = true
				list = append(list, e.to)
			}
		}
	}
	return seen
}

// togetherTest returns for each pair of nodes, by their order, whether both can run in one run:
// whether two ways lead from the entry to them that take the same edge at each condition on both.
// The nodes are sorted; the values of expressions are ignored.
//
// Two ways are followed at once, and the one that is behind is always followed further. So both are
// at a node that they share at the same time, and a condition can send both the same way.
func togetherTest(list []*Vertex, entry *Vertex) func(a, b *Vertex) bool {
	n := len(list)
	met := make([]bits, n) // met[a].has(b), a ≤ b: ways have come to a and b at once
	for i := range met {
		met[i] = newBits(n)
	}
	met[entry.Order].set(entry.Order)
	come := func(a, b *Vertex) {
		if a.Order > b.Order {
			a, b = b, a
		}
		met[a.Order].set(b.Order)
	}
	for _, behind := range list {
		for _, ahead := range list[behind.Order:] {
			if !met[behind.Order].has(ahead.Order) {
				continue
			}
			for _, e := range behind.out {
				switch {
				case behind != ahead:
					come(e.to, ahead)
				case behind.Kind.Chooses():
					come(e.to, e.to)
				default:
					for _, f := range behind.out {
						come(e.to, f.to)
					}
				}
			}
		}
	}
	return func(a, b *Vertex) bool {
		if a.Order > b.Order {
			a, b = b, a
		}
		// The way that is ahead goes on to b: no node of the other is on the rest of it.
		return slices.ContainsFunc(list[a.Order:], func(via *Vertex) bool {
			return met[a.Order].has(via.Order) && (via == b || b.above.has(via.Order))
		})
	}
}

// findCollisions returns the pairs of nodes that can run at the same time and put a value into
// the same field, each with the number of the assignment of the later one in the file.
//
// If one of two nodes is above the other, they never run at the same time. togetherTest is called
// only if some pair writes the same field, as few workflows have such a pair. The list is in the
// order of the file, as the author reads it.
func findCollisions(list []*Vertex, entry *Vertex) (found []collision) {
	var both func(a, b *Vertex) bool
	for _, a := range list {
		for _, b := range list[a.Order+1:] {
			first, second := inFileOrder(a, b)
			i := slices.IndexFunc(second.Output, func(w Assignment) bool {
				return slices.ContainsFunc(first.Output, func(v Assignment) bool { return fieldsOverlap(v.Field, w.Field) })
			})
			if i < 0 || b.above.has(a.Order) {
				continue
			}
			if both == nil {
				both = togetherTest(list, entry)
			}
			if both(a, b) {
				found = append(found, collision{first, second, i})
			}
		}
	}
	slices.SortFunc(found, func(x, y collision) int { return cmp.Compare(x.second.file, y.second.file) })
	return found
}

func inFileOrder(a, b *Vertex) (first, second *Vertex) {
	if a.file > b.file {
		return b, a
	}
	return a, b
}

// collision is one such pair, in the order of the file.
type collision struct {
	first, second *Vertex
	output        int // of second
}

// fieldsOverlap reports whether two fields have something in common: metadata holds metadata.x.
func fieldsOverlap(a, b string) bool {
	return a == b || a == FieldMetadata && strings.HasPrefix(b, metadataPrefix) || b == FieldMetadata && strings.HasPrefix(a, metadataPrefix)
}
