/**
 * Troupe as a system whose agents run: this program as a process of its own, embedded.
 *
 * Configuration: as after an installation, with its tools, system prompt and storage, and only what
 * the work needs: the scripted model, and a token. Messages of operators have no quota that this
 * load reaches.
 */
import type { RunPeerDriver } from '../../../loadtest/peers/run-peer.ts';
import { modelSettings } from '../model.ts';
import { startOwnInstallation } from '../own-installation.ts';

export const ownRuns: RunPeerDriver = {
  name: 'troupe',
  guarantee: 'the run continues at its last stored step',
  async start({ modelUrl }) {
    const { models, agents } = modelSettings(modelUrl);
    const settings = { models, agents: { ...agents, agents: [{ id: 'main' }] } };
    return startOwnInstallation(settings, new AbortController().signal);
  },
};
