package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/state/store"
)

// chargeRates is store.Charge.Apply by the server's clock. Times are microseconds, here and in
// stored levels. A level is stored as the moment when it is 0, counted from a second of 2023, so
// that Lua's numbers can hold parts of a microsecond. A count is a hash with "turns watchers seq"
// of each process. A window is a hash with the charge in each of its parts. Entries of dead
// processes are removed last, since the first write must be one that a server without memory
// refuses.
const chargeRates = `
local p, mine, owed, levels, counts, windows = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time, at = call('TIME'), 7
local now = (tonumber(time[1]) - 1700000000) * 1000000 + tonumber(time[2])
local ok, reply, sums, before, dead = true, {1}, {}, {}, {}
for i = 1, counts do
	local key = KEYS[levels + i]
	local turns, watchers, most = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 3])
	local all = call('HGETALL', key)
	for j = 1, #all, 2 do
		local owner, epoch = string.match(all[j], '^(.*):(%d+)$')
		local t, w, seq = string.match(all[j + 1], '^(%d+) (%d+) (%d+)$')
		if all[j] == mine then before[i] = tonumber(seq)
		elseif t and owner and alive(p, owner, epoch) then turns, watchers = turns + t, watchers + w
		else dead[#dead + 1] = {key, all[j]} end
	end
	if most > 0 and turns + watchers > most then ok = false end
	sums[i] = {turns, watchers}
	at = at + 4
end
local first = at
local function put(key, level) call('SET', key, string.format('%.3f', now + level), 'PX', math.ceil(level / 1000) + 1) end
local found = {}
for i = 1, levels do
	local window, debt, need, of = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
	local level = math.max((tonumber(call('GET', KEYS[i]) or '') or now) - now, 0)
	if level > window + debt then
		level = window + debt
		put(KEYS[i], level)
	end
	if of > 0 then need = need * sums[of][1] end
	if need > 0 and level + need > window + 1 then ok = false end
	found[i] = level
	at = at + 5
end
local span, used = tonumber(ARGV[#ARGV]), {}
for i = 1, windows do
	local w = {key = KEYS[levels + counts + i], part = tonumber(ARGV[at]), most = tonumber(ARGV[at + 1]), cost = tonumber(ARGV[at + 2]), n = 0, ahead = 0, parts = {}}
	w.current = math.floor(now / w.part)
	local all = call('HGETALL', w.key)
	for j = 1, #all, 2 do
		local part, n = tonumber(all[j]), tonumber(all[j + 1])
		if not part or part <= w.current - span then dead[#dead + 1] = {w.key, all[j]}
		else
			if part > w.current then
				dead[#dead + 1] = {w.key, all[j]}
				part, w.ahead = w.current, w.ahead + n
			end
			w.n = w.n + n
			w.parts[part] = (w.parts[part] or 0) + n
		end
	end
	if w.cost > 0 and w.n + w.cost > w.most then ok = false end
	used[i] = w
	at = at + 3
end
local function add(w, n)
	call('HINCRBY', w.key, string.format('%.0f', w.current), n)
	call('PEXPIRE', w.key, math.ceil(span * w.part / 1000))
end
if ok or owed then
	at = first
	for i = 1, levels do
		local window, debt, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
		if cost ~= 0 then
			found[i] = math.max(math.min(found[i] + cost, window + debt), 0)
			put(KEYS[i], found[i])
		end
		at = at + 5
	end
	for _, w in ipairs(used) do
		if w.cost > 0 then
			w.n = w.n + w.cost
			w.parts[w.current] = (w.parts[w.current] or 0) + w.cost
			add(w, w.cost)
		end
	end
	at = 7
	for i = 1, counts do
		local key, seq = KEYS[levels + i], ARGV[at + 2]
		if not before[i] or before[i] < tonumber(seq) then
			call('HSET', key, mine, ARGV[at] .. ' ' .. ARGV[at + 1] .. ' ' .. seq)
			call('PEXPIRE', key, sums[i][1] + sums[i][2] > 0 and ARGV[#ARGV - 2] or ARGV[#ARGV - 1])
		end
		at = at + 4
	end
else reply[1] = 0 end
local moved = false
for _, w in ipairs(used) do
	if w.ahead > 0 then
		add(w, w.ahead)
		moved = true
	end
end
if reply[1] == 1 or moved then
	for _, gone in ipairs(dead) do call('HDEL', gone[1], gone[2]) end
end
for _, level in ipairs(found) do reply[#reply + 1] = string.format('%.0f', level * 1000) end
for _, sum in ipairs(sums) do
	reply[#reply + 1] = sum[1]
	reply[#reply + 1] = sum[2]
end
for _, w in ipairs(used) do
	local left, wait, order = w.n, 0, {}
	for part in pairs(w.parts) do order[#order + 1] = part end
	table.sort(order)
	for _, part in ipairs(order) do
		if left + w.cost <= w.most then break end
		left = left - w.parts[part]
		wait = (part + span) * w.part - now
	end
	reply[#reply + 1] = w.n
	reply[#reply + 1] = string.format('%.0f', wait * 1000)
end
return reply`

// ChargeRates charges limits.
func (s *Store) ChargeRates(ctx context.Context, c store.Charge) (charged store.Charged, err error) {
	keys := make([]string, 0, len(c.Levels)+len(c.Counts)+len(c.Windows))
	args := make([]any, 0, 9+5*len(c.Levels)+4*len(c.Counts)+3*len(c.Windows))
	args = append(args, s.prefix, c.Holder.Owner+":"+strconv.FormatInt(c.Holder.Epoch, 10), c.Owed, len(c.Levels), len(c.Counts), len(c.Windows))
	for i := range c.Counts {
		of := &c.Counts[i]
		args = append(args, of.Turns, of.Watchers, of.Seq, of.Most)
	}
	for i := range c.Levels {
		l := &c.Levels[i]
		keys = append(keys, l.Key)
		args = append(args, microseconds(l.Window), microseconds(l.Debt), microseconds(l.Cost), microseconds(l.Need), l.Of)
	}
	for i := range c.Counts {
		keys = append(keys, c.Counts[i].Key)
	}
	for i := range c.Windows {
		w := &c.Windows[i]
		keys = append(keys, w.Key)
		args = append(args, microseconds(max(w.Period/store.WindowParts, time.Microsecond)), w.Most, w.Cost)
	}
	args = append(args, milliseconds(store.KeepCount), milliseconds(store.KeepZero), store.WindowSpan)
	err = s.runWriteScript(ctx, "charge_rates", chargeRates, func(reply any) (err error) {
		charged, err = readCharged(&c, reply)
		return err
	}, keys, args...)
	return charged, err
}

// microseconds returns a duration in microseconds, with its parts.
func microseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1000, 'f', 3, 64)
}

// readCharged reads the reply of chargeRates.
func readCharged(c *store.Charge, reply any) (r store.Charged, err error) {
	parts, ok := replyList(reply, 1+len(c.Levels)+2*(len(c.Counts)+len(c.Windows)))
	if !ok {
		return r, store.ErrDamaged
	}
	r.OK = replyNumber(parts[0]) == 1
	parts = parts[1:]
	for range c.Levels {
		r.Levels = append(r.Levels, time.Duration(replyNumber(parts[0])))
		parts = parts[1:]
	}
	for range c.Counts {
		r.Counts = append(r.Counts, store.Running{Turns: int(replyNumber(parts[0])), Watchers: int(replyNumber(parts[1]))})
		parts = parts[2:]
	}
	for range c.Windows {
		r.Windows = append(r.Windows, store.Used{N: int(replyNumber(parts[0])), Wait: time.Duration(replyNumber(parts[1]))})
		parts = parts[2:]
	}
	return r, nil
}
