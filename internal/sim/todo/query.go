package todo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// errNotFound says that no todo has the id.
var errNotFound = errors.New("no such todo")

// itemColumns are the columns that scanItem reads, in its order.
const itemColumns = "id, title, description, status, priority, due_date, tags, created_at, completed_at"

// fields are the parts of a todo that a caller can set; nil is "not given".
type fields struct {
	title, description, priority, status *string
	due                                  *due
	tags                                 *[]string
}

// assignments names columns and holds the value for each.
type assignments struct {
	columns []string
	values  []any
}

// setColumn adds a column and its value. The column is a constant of ours, and the value a
// parameter.
func (a *assignments) setColumn(column string, value any) {
	a.columns = append(a.columns, column)
	a.values = append(a.values, value)
}

// setColumns returns the columns that f sets, without completed_at, because that depends on its
// previous value.
func (f fields) setColumns() assignments {
	var a assignments
	if f.title != nil {
		a.setColumn("title", *f.title)
		a.setColumn("title_folded", strings.ToLower(*f.title))
	}
	if f.description != nil {
		a.setColumn("description", *f.description)
	}
	if f.priority != nil {
		a.setColumn("priority", *f.priority)
	}
	if f.status != nil {
		a.setColumn("status", *f.status)
	}
	if f.due != nil {
		a.setDue(*f.due)
	}
	if f.tags != nil {
		a.setColumn("tags", encodeTags(*f.tags))
	}
	return a
}

// setDue sets all three columns of d, because a new due replaces the whole of an
// old one.
func (a *assignments) setDue(d due) {
	var text, wall, instant any
	switch {
	case d.text == "":
	case d.instant:
		text, instant = d.text, d.seconds
	default:
		text, wall = d.text, d.seconds
	}
	a.setColumn("due_date", text)
	a.setColumn("due_wall", wall)
	a.setColumn("due_instant", instant)
}

// createTodo adds a todo to a list and returns it. f must have a title.
func (s *Store) createTodo(ctx context.Context, of owner, f fields) (item, error) {
	a := f.setColumns()
	a.setColumn("owner", string(of))
	a.setColumn("created_at", s.timestamp())
	a.setColumn("id", nil)
	query := fmt.Sprintf("INSERT INTO todos (%s) VALUES (?%s) ON CONFLICT (id) DO NOTHING RETURNING %s",
		strings.Join(a.columns, ", "), strings.Repeat(", ?", len(a.columns)-1), itemColumns)
	// 40 random bits meet one of a million todos once in a million calls.
	for range 5 {
		a.values[len(a.values)-1] = s.newID()
		it, err := s.queryOne(ctx, query, a.values)
		if !errors.Is(err, errNotFound) {
			return it, err
		}
	}
	return item{}, errors.New("every new id is taken already")
}

// updateTodo changes the todo with the given id as f says, and returns it. f must set something. A
// todo that is completed again keeps its completed_at, so that repeating an update changes nothing.
func (s *Store) updateTodo(ctx context.Context, of owner, id string, f fields) (item, error) {
	a := f.setColumns()
	sets := strings.Join(a.columns, " = ?, ") + " = ?"
	if f.status != nil {
		sets += ", completed_at = CASE WHEN ? = 'completed' THEN COALESCE(completed_at, ?) END"
		a.values = append(a.values, *f.status, s.timestamp())
	}
	query := fmt.Sprintf("UPDATE todos SET %s WHERE id = ? AND owner = ? RETURNING %s", sets, itemColumns)
	return s.queryOne(ctx, query, append(a.values, id, string(of)))
}

// removeTodo deletes the todo with the given id and returns it as it was.
func (s *Store) removeTodo(ctx context.Context, of owner, id string) (item, error) {
	return s.queryOne(ctx, "DELETE FROM todos WHERE id = ? AND owner = ? RETURNING "+itemColumns, []any{id, string(of)})
}

// queryOne runs a statement that returns one todo, or none: errNotFound.
func (s *Store) queryOne(ctx context.Context, query string, args []any) (item, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return item{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return item{}, err
		}
		return item{}, errNotFound
	}
	it, err := scanItem(rows)
	if err != nil {
		return item{}, err
	}
	// Past its last row a write is committed; only then has it succeeded.
	rows.Next()
	return it, rows.Err()
}

// scanItem reads one row of itemColumns, followed by more columns as given.
func scanItem(rows *sql.Rows, more ...any) (item, error) {
	var it item
	var dueDate, completedAt sql.NullString
	var tags string
	err := rows.Scan(append([]any{&it.ID, &it.Title, &it.Description, &it.Status, &it.Priority,
		&dueDate, &tags, &it.CreatedAt, &completedAt}, more...)...)
	if err != nil {
		return item{}, err
	}
	it.DueDate, it.CompletedAt = dueDate.String, completedAt.String
	if err := json.Unmarshal([]byte(tags), &it.Tags); err != nil {
		return item{}, fmt.Errorf("tags of %s: %w", it.ID, err)
	}
	return it, nil
}

// encodeTags returns tags as a JSON array. Strings always have a JSON form.
func encodeTags(tags []string) string {
	if len(tags) == 0 {
		return "[]"
	}
	data, _ := json.Marshal(tags)
	return string(data)
}
