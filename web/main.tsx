/**
 * The page: one conversation with an agent. Takes the token out of the address bar, holds the chat
 * and shows what it is.
 */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Chat, type ChatView } from './chat.ts';
import { Composer } from './composer.tsx';
import { Header, RefusedView } from './connection.tsx';
import { activeRun, emptyConversation } from './conversation.ts';
import { Lines } from './lines.tsx';
import { language } from './strings.ts';

const TOKEN_KEY = 'troupe.token';

/**
 * `#token=…&session=…`. The token is kept for this tab only, and leaves the address bar and its
 * history.
 */
const takeAddress = () => {
  const hash = new URLSearchParams(location.hash.slice(1));
  const token = hash.get('token');
  if (token !== null) {
    sessionStorage.setItem(TOKEN_KEY, token);
    hash.delete('token');
    const rest = hash.toString();
    history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  }
  const session = hash.get('session');
  return session === null ? {} : { sessionKey: session };
};

const address = takeAddress();

const openChat = (onChange: (view: ChatView) => void): Chat =>
  new Chat({
    ...address,
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`,
    token: sessionStorage.getItem(TOKEN_KEY) ?? '',
    locale: language,
    keep: sessionStorage,
    onChange,
  });

const Page = () => {
  const [view, setView] = useState<ChatView>({
    connection: { kind: 'connecting' },
    conversation: emptyConversation,
  });
  const [chat, setChat] = useState<Chat>(() => openChat(setView));
  useEffect(() => {
    chat.start();
    const wake = () => chat.start();
    addEventListener('online', wake);
    return () => {
      removeEventListener('online', wake);
      chat.stop();
    };
  }, [chat]);
  const { connection, conversation } = view;
  const online = connection.kind === 'online';
  const onToken = (token: string) => {
    sessionStorage.setItem(TOKEN_KEY, token);
    setChat(openChat(setView));
  };
  return (
    <>
      <Header state={connection} onRetry={() => chat.start()} />
      {connection.kind === 'refused' ? (
        <RefusedView state={connection} onToken={onToken} />
      ) : (
        <>
          <Lines conversation={conversation} online={online} actions={chat} />
          <Composer
            busy={activeRun(conversation) !== undefined}
            online={online}
            onSend={(text, images) => chat.send(text, images)}
            onStop={() => chat.abort()}
          />
        </>
      )}
    </>
  );
};

/** A link to another conversation, and the way back from it. */
addEventListener('hashchange', () => location.reload());

document.documentElement.lang = language;
const root = document.getElementById('app');
if (root) render(<Page />, root);
