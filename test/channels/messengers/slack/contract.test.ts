import { adapter } from '../../../../channels/messengers/slack/adapter.ts';
import { channelContract } from '../contract.ts';
import { openSlackMessenger } from './slack-messenger.ts';

channelContract('slack by Socket Mode', adapter, () => openSlackMessenger());
channelContract('slack by the Events API', adapter, openSlackMessenger);
