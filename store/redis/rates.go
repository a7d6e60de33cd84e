package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/store"
)

// chargeRates is store.Charge.Apply by the server's clock. Times are microseconds, here and in
// what is kept of a level: when nothing of it is left, since a second of 2023, which keeps the
// parts of a microsecond in Lua's numbers. A count is a hash with "turns watchers seq" of each
// process. What was kept by the dead is removed last, as the first write must be one that a
// server without memory refuses.
const chargeRates = `
local p, mine, owed, levels, counts = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local time, at = call('TIME'), 6
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
	at = 6
	for i = 1, counts do
		local key, seq = KEYS[levels + i], ARGV[at + 2]
		if not before[i] or before[i] < tonumber(seq) then
			call('HSET', key, mine, ARGV[at] .. ' ' .. ARGV[at + 1] .. ' ' .. seq)
			call('PEXPIRE', key, sums[i][1] + sums[i][2] > 0 and ARGV[#ARGV - 1] or ARGV[#ARGV])
		end
		at = at + 4
	end
	for _, gone in ipairs(dead) do call('HDEL', gone[1], gone[2]) end
else reply[1] = 0 end
for _, level in ipairs(found) do reply[#reply + 1] = string.format('%.0f', level * 1000) end
for _, sum in ipairs(sums) do
	reply[#reply + 1] = sum[1]
	reply[#reply + 1] = sum[2]
end
return reply`

// ChargeRates charges limits.
func (s *Store) ChargeRates(ctx context.Context, c store.Charge) (charged store.Charged, err error) {
	keys := make([]string, 0, len(c.Levels)+len(c.Counts))
	args := make([]any, 0, 7+5*len(c.Levels)+4*len(c.Counts))
	args = append(args, s.prefix, c.Holder.Owner+":"+strconv.FormatInt(c.Holder.Epoch, 10), c.Owed, len(c.Levels), len(c.Counts))
	for i := range c.Counts {
		of := &c.Counts[i]
		args = append(args, of.Turns, of.Watchers, of.Seq, of.Most)
	}
	for i := range c.Levels {
		l := &c.Levels[i]
		keys = append(keys, l.Key)
		args = append(args, micros(l.Window), micros(l.Debt), micros(l.Cost), micros(l.Need), l.Of)
	}
	for i := range c.Counts {
		keys = append(keys, c.Counts[i].Key)
	}
	args = append(args, ms(store.KeepCount), ms(store.KeepZero))
	err = s.write(ctx, "charge_rates", chargeRates, func(reply any) (err error) {
		charged, err = readCharged(&c, reply)
		return err
	}, keys, args...)
	return charged, err
}

// micros returns a duration in microseconds, with its parts.
func micros(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1000, 'f', 3, 64)
}

// readCharged reads the reply of chargeRates.
func readCharged(c *store.Charge, reply any) (r store.Charged, err error) {
	parts, ok := list(reply, 1+len(c.Levels)+2*len(c.Counts))
	if !ok {
		return r, store.ErrDamaged
	}
	r.OK = number(parts[0]) == 1
	parts = parts[1:]
	for range c.Levels {
		r.Levels = append(r.Levels, time.Duration(number(parts[0])))
		parts = parts[1:]
	}
	for range c.Counts {
		r.Counts = append(r.Counts, store.Running{Turns: int(number(parts[0])), Watchers: int(number(parts[1]))})
		parts = parts[2:]
	}
	return r, nil
}
