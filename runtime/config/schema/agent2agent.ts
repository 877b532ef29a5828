/** The section `agent2agent`: what clients of the Agent2Agent protocol (A2A) can do. */
import { Type } from '@sinclair/typebox';
import { section } from './fields.ts';

export const agent2agentSection = section(
  'the Agent2Agent protocol (A2A), at `/a2a/{agent}` of the gateway',
  {
    defaultAgent: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'agent whose card is at `/.well-known/agent-card.json`. Default: the default chat agent',
      }),
    ),
    publicCards: Type.Boolean({
      default: true,
      description:
        'whether the card of an agent is shown without a token; it lists what needs no role',
    }),
    legacy: Type.Boolean({
      default: false,
      description: 'whether clients of version 0.3 are served, too',
    }),
  },
);
