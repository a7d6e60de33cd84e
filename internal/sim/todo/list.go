package todo

import (
	"context"
	"strings"
)

// filter selects todos. The zero value of a field selects all, except for limit.
type filter struct {
	status, priority string
	due              *dueFilter
	// tags must all be there.
	tags []string
	// query is a part of the title, whatever its case.
	query string
	// limit is the greatest number of todos to return.
	limit int
}

// conditions collects the terms of a WHERE clause and their parameters.
type conditions struct {
	terms  []string
	values []any
}

// addTerm adds a term, whose placeholders get values. A user's text never becomes part of the
// query.
func (c *conditions) addTerm(term string, values ...any) {
	c.terms = append(c.terms, term)
	c.values = append(c.values, values...)
}

// whereTerms returns the terms of the query, with their values as parameters. A todo must meet all
// of them.
func (f filter) whereTerms() conditions {
	c := conditions{terms: []string{"TRUE"}}
	if f.status != "" && f.status != statusAll {
		c.addTerm("status = ?", f.status)
	}
	if f.priority != "" {
		c.addTerm("priority = ?", f.priority)
	}
	if f.due != nil {
		c.addDue(f.due)
	}
	for _, tag := range f.tags {
		c.addTerm("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", tag)
	}
	if f.query != "" {
		c.addTerm("instr(title_folded, ?) > 0", strings.ToLower(f.query))
	}
	return c
}

// addDue adds the terms of a range of due times.
func (c *conditions) addDue(d *dueFilter) {
	c.addTerm("(due_wall >= ? AND due_wall < ? OR due_instant >= ? AND due_instant < ?)",
		d.from.wall, d.to.wall, d.from.instant, d.to.instant)
	if d.pendingOnly {
		c.addTerm("status = ?", statusPending)
	}
}

// listTodos returns the todos of an owner that f selects: pending ones first, then by due date
// (none last), by priority (high first) and by age (oldest first).
func (s *Store) listTodos(ctx context.Context, of owner, f filter) (listing, error) {
	c := f.whereTerms()
	c.addTerm("owner = ?", string(of))
	now := momentOf(s.now())
	// Days and wall-clock times are compared with instants as if the offset of
	// today held all year: an hour off across a clock change, in order alone.
	// #nosec G202 -- columns and terms are constants; what a client says comes as arguments
	query := "SELECT " + itemColumns + ", COUNT(*) OVER () FROM todos WHERE " + strings.Join(c.terms, " AND ") + `
		ORDER BY status = 'completed', due_date IS NULL, COALESCE(due_wall, due_instant + ?),
			CASE priority WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, seq
		LIMIT ?`
	rows, err := s.db.QueryContext(ctx, query, append(c.values, now.wall-now.instant, f.limit)...)
	if err != nil {
		return listing{}, err
	}
	defer rows.Close()
	found := listing{Todos: []item{}}
	for rows.Next() {
		it, err := scanItem(rows, &found.Count)
		if err != nil {
			return listing{}, err
		}
		found.Todos = append(found.Todos, it)
	}
	found.More = found.Count > len(found.Todos)
	return found, rows.Err()
}
