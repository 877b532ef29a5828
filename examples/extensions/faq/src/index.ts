/** A model without a language model: it answers with the entry whose question has most words. */
import { definePlugin, type PluginFacts } from 'troupe/plugin-sdk';

type Entry = { question: string; answer: string };

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);

/** The entry that shares most words with the text; undefined when none shares a word. */
function nearest(text: string, { config }: PluginFacts): Entry | undefined {
  const asked = wordsOf(text);
  const ranked = (config['answers'] as Entry[])
    .map((entry) => ({
      entry,
      shared: [...wordsOf(entry.question)].filter((word) => asked.has(word)).length,
    }))
    .sort((a, b) => b.shared - a.shared);
  return ranked[0] && ranked[0].shared > 0 ? ranked[0].entry : undefined;
}

export default definePlugin({
  name: 'faq',
  version: '1.0.0',
  hooks: {
    message_sending: ({ text }, { plugin }) => {
      const { signature } = plugin.config;
      return typeof signature === 'string' ? { text: `${text}\n\n${signature}` } : undefined;
    },
  },
  providers: [
    {
      id: 'faq',
      async *stream({ messages }, { plugin }) {
        const last = messages.findLast(({ role }) => role === 'user');
        const question = last?.role === 'user' ? last.text : '';
        const answer = nearest(question, plugin)?.answer ?? 'I do not know that.';
        for (const part of answer.split(/(?<= )/)) yield { type: 'text', delta: part };
        yield { type: 'usage', inputTokens: question.length, outputTokens: answer.length };
      },
    },
  ],
});
