import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses as allAnswered } from 'ai';

const asked = new URLSearchParams(location.search);
const api = `${asked.get('gateway') ?? 'http://127.0.0.1:8080'}/api/chat`;
const id = asked.get('chat') ?? undefined; // with one, and a store, a page that is loaded again continues
const transport = new DefaultChatTransport({ api, body: id && { on_disconnect: 'continue' } });

function Part({ part, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'reasoning') return <details><summary>Thoughts</summary>{part.text}</details>;
  if (part.type !== 'dynamic-tool') return null;
  return (
    <fieldset>
      <legend>{part.toolName}: {part.state}</legend>
      <code>{part.output ?? part.errorText ?? JSON.stringify(part.input)}</code>
      {part.state === 'approval-requested' && [true, false].map((approved) => (
        <button key={approved} onClick={() => answer({ id: part.approval.id, approved })}>{approved ? 'Allow' : 'Reject'}</button>
      ))}
    </fieldset>
  );
}

function Chat() {
  const chat = useChat({ id, transport, resume: Boolean(id), sendAutomaticallyWhen: allAnswered });
  const [input, setInput] = useState('');
  const send = (event) => { event.preventDefault(); chat.sendMessage({ text: input }); setInput(''); };
  return (
    <main>
      {chat.messages.map((m) => (
        <article key={m.id} aria-label={m.role}>{m.parts.map((p, i) => <Part key={i} part={p} answer={chat.addToolApprovalResponse} />)}</article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={input} onChange={(e) => setInput(e.target.value)} /> <button>Send</button>{' '}
        <button type="button" onClick={chat.stop}>Stop</button> <output>{chat.status}</output>
      </form>
    </main>
  );
}

createRoot(document.getElementById('root')).render(<Chat />);
