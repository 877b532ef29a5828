import { describe, expect, it } from 'vitest';
import { defined } from '../../../protocols/defined.ts';
import type { ThinkingLevel } from '../../../agent/models/model.ts';
import { anthropicThinking, googleThinking, openAiEffort } from '../../../agent/models/thinking.ts';

const model = (id: string, thinking?: boolean) => ({
  id,
  contextWindow: 1,
  maxTokens: 1,
  ...defined({ thinking }),
});
const asked: ThinkingLevel[] = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'];

describe('reasoning of OpenAI’s models', () => {
  it.each([
    ['gpt-5', '- minimal low medium high high'],
    ['gpt-5-mini-2025-08-07', '- minimal low medium high high'],
    ['gpt-5-codex', '- low low medium high high'],
    ['gpt-5-pro', '- high high high high high'],
    ['gpt-5.1', '- low low medium high high'],
    ['gpt-5.1-codex-max', '- low low medium high xhigh'],
    ['gpt-5.5', '- low low medium high xhigh'],
    ['gpt-5.5-pro', '- medium medium medium high xhigh'],
    ['openai/gpt-5.4-mini', '- low low medium high xhigh'],
    ['gpt-6-sol', '- low low medium high high'],
    ['o3', '- low low medium high high'],
    ['o4-mini-deep-research', '- medium medium medium medium medium'],
    ['o1-mini', '- - - - - -'],
    ['gpt-5-chat-latest', '- - - - - -'],
    ['gpt-4.1', '- - - - - -'],
    ['qwen3-32b', '- - - - - -'],
  ])('%s accepts %s', (id, efforts) => {
    expect(asked.map((level) => openAiEffort(model(id), level) ?? '-').join(' ')).toBe(efforts);
  });

  it('uses the configuration for an unknown family, and is never sent when it is false', () => {
    expect(openAiEffort(model('gpt-oss-120b', true), 'xhigh')).toBe('high');
    expect(openAiEffort(model('gpt-5.5', false), 'high')).toBeUndefined();
  });
});

describe('thinking of Google’s models', () => {
  it.each([
    ['gemini-3.1-pro-preview', ['LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
    ['gemini-3.8-flash', ['LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
    ['gemini-3-pro-preview', ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH']],
  ])('%s accepts a level', (id, levels) => {
    const sent = asked.slice(1).map((level) => googleThinking(model(id), level));
    expect(sent).toEqual(levels.map((thinkingLevel) => ({ includeThoughts: true, thinkingLevel })));
  });

  it('is a budget before Gemini 3, and nothing for unknown models', () => {
    expect(googleThinking(model('gemini-2.5-pro'), 'high')).toEqual({
      includeThoughts: true,
      thinkingBudget: 16_384,
    });
    for (const id of [
      'gemini-2.0-flash',
      'gemini-3-pro-image',
      'gemini-2.5-flash-image',
      'gemma-3',
    ]) {
      expect([id, googleThinking(model(id), 'high')]).toEqual([id, undefined]);
    }
    expect(googleThinking(model('gemini-3.8-flash'), 'off')).toBeUndefined();
    expect(googleThinking(model('gemini-3.8-flash', false), 'high')).toBeUndefined();
  });
});

it('uses the configuration for other models behind Anthropic’s API', () => {
  expect(anthropicThinking(model('glm-5'))).toBe('none');
  expect(anthropicThinking(model('glm-5', true))).toBe('budget');
  expect(anthropicThinking(model('claude-opus-5-5', false))).toBe('none');
});
