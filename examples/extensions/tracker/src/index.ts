/** Two tools of an issue tracker that has a JSON API. */
import { definePlugin } from 'troupe/plugin-sdk';
import { ask } from './api.ts';

type Ticket = { number: number; title: string; url?: string };

export default definePlugin({
  name: 'tracker',
  version: '1.0.0',
  tools: [
    {
      name: 'tracker_create',
      // A repeated call has the same key, so that the tracker creates one ticket.
      run: ({ title, text = '' }: { title: string; text?: string }, context) =>
        ask(context, '/tickets', {
          method: 'POST',
          headers: { 'idempotency-key': context.idempotencyKey },
          body: JSON.stringify({ project: context.plugin.config['project'], title, text }),
        }),
    },
    {
      name: 'tracker_find',
      async run({ text }: { text: string }, context) {
        const query = new URLSearchParams({ text });
        const tickets = (await ask(context, `/tickets?${query}`)) as Ticket[];
        return tickets.map(({ number, title }) => `#${number} ${title}`).join('\n') || 'none';
      },
    },
  ],
});
