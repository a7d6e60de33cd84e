// collect adds to seen what an agent's thread has besides the user's messages, and those whose ids
// are known.
export function collect(seen, agent, known) {
  const result = (id) => agent.messages.find((m) => m.role === 'tool' && m.toolCallId === id)?.content ?? '';
  for (const m of agent.messages) {
    if (known.has(m.id) || m.role === 'user') continue;
    if (m.role === 'assistant') seen.text += m.content ?? '';
    if (m.role === 'tool') seen.results[m.toolCallId] = m.content;
    if (m.role === 'reasoning') seen.thoughts += m.content ?? '';
    for (const { id, function: f } of m.toolCalls ?? []) seen.calls.push({ id, name: f.name, arguments: f.arguments, result: result(id) });
  }
}
