package redis

import goredis "github.com/redis/go-redis/v9"

// Scripts change several keys in one step. Rules that all keep:
//
//   - A negative integer is a refusal (see refusalOf), and then nothing was changed.
//   - What needs memory is written first: a server without any refuses the first such
//     command of a script, not a later one.
//   - No clock: times to live count from now on the server's, whatever ours says.
//   - Numbers above 10¹⁴ stay texts: Lua would write them with an exponent.
//
// A task's hash has the fields of meta. user_index, conversation_index and tenant_index name the sorted
// sets that list the task. The set sluice:tasks:of:<owner>:<epoch> has the tasks that a
// process runs, and sluice:tasks:holders those processes.
const prelude = `
local call = redis.call
local meta = {'owner', 'epoch', 'tenant', 'user', 'conversation', 'turn', 'state', 'version', 'cancel', 'created'}
local function keep(key, ttl)
	if tonumber(ttl) > 0 then call('PEXPIRE', key, ttl) else call('PERSIST', key) end
end
local function keep_longer(key, ttl)
	local left = call('PTTL', key)
	if tonumber(ttl) == 0 then call('PERSIST', key)
	elseif left >= 0 and left < tonumber(ttl) then call('PEXPIRE', key, ttl) end
end
local function set(key, value, ttl)
	if tonumber(ttl) > 0 then call('SET', key, value, 'PX', ttl) else call('SET', key, value) end
end
local function release(p, holder, id)
	local of = p .. 'sluice:tasks:of:' .. holder
	call('SREM', of, id)
	if call('EXISTS', of) == 0 then call('SREM', p .. 'sluice:tasks:holders', holder) end
end
local function hold(p, holder, id)
	call('SADD', p .. 'sluice:tasks:of:' .. holder, id)
	call('SADD', p .. 'sluice:tasks:holders', holder)
end
local function alive(p, owner, epoch) return call('GET', p .. 'sluice:gw:' .. owner) == epoch end
local function log_end(key)
	local last = call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
	if not last then return 0, 0 end
	for i = 1, #last[2], 2 do
		if last[2][i] == 's' then return tonumber(string.match(last[1], '^%d+')), tonumber(last[2][i + 1]) or 0 end
	end
	return -1, 0
end
local function refused(last, at)
	if last == at then return nil end
	if last == 0 then return -1 end
	return {'end', last}
end
-- append adds an entry to a log that ends at an event, and returns why it does not, if so.
local function append(key, at, n, data, ttl, most, channel)
	local last, size = log_end(key)
	local no = refused(last, tonumber(at))
	if no then return no end
	size = size + #data
	if size > tonumber(most) then
		call('DEL', key)
		call('PUBLISH', channel, '')
		return -3
	end
	if n == at then return nil end
	call('XADD', key, n .. '-0', 'd', data, 's', string.format('%d', size))
	keep(key, ttl)
	call('PUBLISH', channel, '')
end
local function is_held(hash, owner, epoch)
	local held = call('HMGET', hash, 'owner', 'epoch')
	return held[1] == owner and held[2] == epoch
end
-- version_is says whether a task that is there has a version.
local function version_is(hash, version) return (tonumber(call('HGET', hash, 'version')) or 0) == tonumber(version) end
-- push adds to a list, of which the last items are kept, and the last bytes.
local function push(key, item, ttl, items, bytes)
	call('RPUSH', key, item)
	keep(key, ttl)
	if items > 0 then call('LTRIM', key, -items, -1) end
	if bytes > 0 then
		local all, kept, n = call('LRANGE', key, 0, -1), #item, 1
		for i = #all - 1, 1, -1 do
			kept = kept + #all[i]
			if kept > bytes then break end
			n = n + 1
		end
		if n < #all then call('LTRIM', key, -n, -1) end
	end
end
-- side changes the list of a task or a log.
local function side(key, drop, item, ttl)
	if not key or key == '' then return end
	if drop ~= '' then call('DEL', key) end
	if item ~= '' then
		call('RPUSH', key, item)
		keep(key, ttl)
	end
end
-- change writes what may change of a task that is there.
local function change(p, doc, hash, id, t)
	local held = call('HMGET', hash, 'owner', 'epoch', 'user_index', 'conversation_index', 'tenant_index')
	set(doc, t.doc, t.ttl)
	call('HSET', hash, 'owner', t.owner, 'epoch', t.epoch, 'turn', t.turn, 'state', t.state, 'version', string.format('%d', t.version + 1))
	keep(hash, t.ttl)
	for i = 3, 5 do if held[i] and held[i] ~= '' then keep_longer(held[i], t.ttl) end end
	local before, now = (held[1] or '') .. ':' .. (held[2] or ''), t.owner .. ':' .. t.epoch
	if t.owner ~= '' then hold(p, now, id) end
	if held[1] and held[1] ~= '' and before ~= now then release(p, before, id) end
end
local function read(doc, hash)
	local text = call('GET', doc)
	if not text then return nil end
	return {text, call('HMGET', hash, unpack(meta))}
end
`

// scriptOf returns the script of an operation, and makes it once: its name in the server is a
// digest of the whole text.
func (s *Store) scriptOf(op, body string) *goredis.Script {
	if made, ok := s.scripts.Load(op); ok {
		return made.(*goredis.Script)
	}
	made, _ := s.scripts.LoadOrStore(op, goredis.NewScript(prelude+body))
	return made.(*goredis.Script)
}

// The scripts, each of one operation.
const (
	// Each new task checks two of a list's oldest tasks, so that lists do not grow with expired
	// ones.
	createTask = `
local p, id, doc, ttl, owner, epoch, created, list, drop, item = unpack(ARGV, 1, 10)
if call('EXISTS', KEYS[1]) == 1 then return -2 end
set(KEYS[1], doc, ttl)
side(list, drop, item, ttl)
call('DEL', KEYS[2])
call('HSET', KEYS[2], 'owner', owner, 'epoch', epoch, 'created', created, 'version', '1', 'user_index', KEYS[3], unpack(ARGV, 11))
keep(KEYS[2], ttl)
for i = 3, #KEYS do
	local fresh = call('EXISTS', KEYS[i]) == 0
	for _, old in ipairs(call('ZRANGE', KEYS[i], 0, 1)) do
		if call('EXISTS', p .. 'task:' .. old) == 0 then call('ZREM', KEYS[i], old) end
	end
	call('ZADD', KEYS[i], created, id)
	if fresh then keep(KEYS[i], ttl) else keep_longer(KEYS[i], ttl) end
end
if owner ~= '' then hold(p, owner .. ':' .. epoch, id) end
return 1`

	readTask = `return read(KEYS[1], KEYS[2]) or -1`

	updateTask = `
local p, id, doc, ttl, owner, epoch, turn, state, version, list, drop, item = unpack(ARGV)
if call('EXISTS', KEYS[1]) == 0 then return -1 end
if not version_is(KEYS[2], version) then return -2 end
side(list, drop, item, ttl)
change(p, KEYS[1], KEYS[2], id, {doc = doc, ttl = ttl, owner = owner, epoch = epoch, turn = turn, state = state, version = tonumber(version)})
return 1`

	cancelTask = `
local p, channel = ARGV[1], ARGV[2]
local left = call('PTTL', KEYS[1])
if left == -2 then return -1 end
call('HSET', KEYS[2], 'cancel', '1')
if left >= 0 then call('PEXPIRE', KEYS[2], left) end
call('PUBLISH', channel .. (call('HGET', KEYS[2], 'owner') or ''), '')
return read(KEYS[1], KEYS[2])`

	deleteTask = `
local p, id = ARGV[1], ARGV[2]
local held = call('HMGET', KEYS[2], 'owner', 'epoch', 'user_index', 'conversation_index', 'tenant_index')
call('DEL', KEYS[1], KEYS[2])
for i = 3, 5 do if held[i] and held[i] ~= '' then call('ZREM', held[i], id) end end
if held[1] and held[1] ~= '' then release(p, held[1] .. ':' .. held[2], id) end
return 1`

	// listTasks returns ids, times, documents and metas, and whether it stopped early. It
	// looks at 1,000 tasks at most, reads the documents of those alone that are asked for,
	// and forgets those that have expired.
	listTasks = `
local p, before, after, state, limit, most, bare = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] ~= ''
local found, dead, looked, offset, stopped, last, bytes = {}, {}, 0, 0, '', nil, 0
while true do
	local some = call('ZREVRANGEBYSCORE', KEYS[1], before, '-inf', 'WITHSCORES', 'LIMIT', offset, 100)
	offset = offset + 100
	for i = 1, #some, 2 do
		local id, score = some[i], some[i + 1]
		if not (tonumber(score) == tonumber(before) and after ~= '' and id >= after) then
			if #found == limit or looked == 1000 or bytes >= most then stopped = 'more' break end
			looked = looked + 1
			local doc, hash = p .. 'task:' .. id, p .. 'sluice:task:' .. id
			if call('EXISTS', doc) == 0 then dead[#dead + 1] = id
			elseif state == '' or call('HGET', hash, 'state') == state then
				local task = {bare and '' or call('GET', doc), call('HMGET', hash, unpack(meta))}
				bytes = bytes + #task[1]
				found[#found + 1] = {id, score, task[1], task[2]}
			end
			last = {id, score}
		end
	end
	if #some < 200 or stopped ~= '' then break end
end
for _, id in ipairs(dead) do call('ZREM', KEYS[1], id) end
return {stopped, last or {'', ''}, found}`

	orphanTasks = `
local p, limit = ARGV[1], tonumber(ARGV[2])
local found = {}
for _, holder in ipairs(call('SMEMBERS', KEYS[1])) do
	local owner, epoch = string.match(holder, '^(.*):(%d+)$')
	if owner and not alive(p, owner, epoch) then
		for _, id in ipairs(call('SMEMBERS', p .. 'sluice:tasks:of:' .. holder)) do
			if #found == limit then return found end
			if call('EXISTS', p .. 'task:' .. id) == 1 then found[#found + 1] = id else release(p, holder, id) end
		end
	end
end
return found`

	closeTask = `
local p, id, doc, ttl, owner, epoch, turn, state, version, list, drop, item, log, at, n, data, log_ttl, most, channel = unpack(ARGV)
if call('EXISTS', KEYS[1]) == 0 then return -1 end
local held = call('HMGET', KEYS[2], 'version', 'owner', 'epoch')
if (tonumber(held[1]) or 0) ~= tonumber(version) then return -2 end
if held[2] and held[2] ~= '' and alive(p, held[2], held[3]) then return -2 end
if log ~= '' then
	local no = append(log, at, n, data, log_ttl, most, channel)
	if no then return no end
end
side(list, drop, item, ttl)
change(p, KEYS[1], KEYS[2], id, {doc = doc, ttl = ttl, owner = owner, epoch = epoch, turn = turn, state = state, version = tonumber(version)})
return 1`

	appendLog = `
local at, n, data, ttl, most, channel, owner, epoch, list, drop, item = unpack(ARGV)
if KEYS[2] and not is_held(KEYS[2], owner, epoch) then return -2 end
local no = append(KEYS[1], at, n, data, ttl, most, channel)
if no then return no end
side(list, drop, item, ttl)
return 1`

	endTurn = `
local p, id, doc, ttl, owner, epoch, turn, state, version, list, drop, item, at, n, data, log_ttl, most, channel, by, by_epoch, trace, items, bytes = unpack(ARGV)
if call('EXISTS', KEYS[1]) == 0 then return -1 end
if not version_is(KEYS[2], version) or not is_held(KEYS[2], by, by_epoch) then return -2 end
local no = append(KEYS[3], at, n, data, log_ttl, most, channel)
if no then return no end
side(list, drop, item, ttl)
change(p, KEYS[1], KEYS[2], id, {doc = doc, ttl = ttl, owner = owner, epoch = epoch, turn = turn, state = state, version = tonumber(version)})
push(KEYS[4], trace, ttl, tonumber(items), tonumber(bytes))
return 1`

	readLog = `
local some = call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+', 'COUNT', ARGV[2])
if #some == 0 and call('EXISTS', KEYS[1]) == 0 then return -1 end
local found = {}
for i, entry in ipairs(some) do
	found[i] = {entry[1], ''}
	for j = 1, #entry[2], 2 do if entry[2][j] == 'd' then found[i][2] = entry[2][j + 1] end end
end
return found`

	dropLog = `
call('DEL', KEYS[1])
call('PUBLISH', ARGV[1], '')
return 1`

	renewLease = `
local epoch = call('GET', KEYS[1])
if epoch and tonumber(epoch) and tonumber(epoch) > tonumber(ARGV[1]) then return -2 end
if epoch == ARGV[1] then call('PEXPIRE', KEYS[1], ARGV[2]) -- which a server without memory does too
else call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 1`

	releaseLease = `
if call('GET', KEYS[1]) == ARGV[1] then call('DEL', KEYS[1]) end
return 1`

	// putValue adds items to lists first. Each item is one more key and one more argument.
	putValue = `
local version, data, ttl = ARGV[1], ARGV[2], ARGV[3]
local there = call('HMGET', KEYS[1], 'v', 'd')
if (tonumber(there[1]) or 0) ~= tonumber(version) then return {there[1] or '0', there[2] or ''} end
for i = 2, #KEYS do push(KEYS[i], ARGV[i + 2], ttl, 0, 0) end
call('HSET', KEYS[1], 'v', string.format('%d', tonumber(version) + 1), 'd', data)
keep(KEYS[1], ttl)
return 1`

	keepValue = `
if call('EXISTS', KEYS[1]) == 0 then return -1 end
keep(KEYS[1], ARGV[1])
return 1`

	pushList = `
local item, ttl, items, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if KEYS[2] and call('EXISTS', KEYS[2]) == 0 then return -1 end
push(KEYS[1], item, ttl, items, bytes)
return 1`

	putIndex = `
local fresh = call('EXISTS', KEYS[1]) == 0
call('ZADD', KEYS[1], ARGV[1], ARGV[2])
if fresh then keep(KEYS[1], ARGV[3]) else keep_longer(KEYS[1], ARGV[3]) end
return 1`

	// readIndex skips, among those of the same score, the ones up to a member.
	readIndex = `
local command, from, to, limit, score, id = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local found, offset = {}, 0
while true do
	local some = call(command, KEYS[1], from, to, 'WITHSCORES', 'LIMIT', offset, 100)
	offset = offset + 100
	for i = 1, #some, 2 do
		local same = score ~= '' and tonumber(some[i + 1]) == tonumber(score)
		local skip = same and (command == 'ZRANGEBYSCORE' and some[i] <= id or command ~= 'ZRANGEBYSCORE' and some[i] >= id)
		if not skip then
			found[#found + 1] = some[i]
			found[#found + 1] = some[i + 1]
			if #found == 2 * limit then return found end
		end
	end
	if #some < 200 then return found end
end`

	addCounter = `
local n = call('INCRBY', KEYS[1], ARGV[1])
keep(KEYS[1], ARGV[2])
return {n}`
)
