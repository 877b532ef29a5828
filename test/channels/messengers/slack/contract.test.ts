import { slack } from '../../../../channels/messengers/slack/adapter.ts';
import { channelContract } from '../contract.ts';
import { openSlackMessenger } from './slack-messenger.ts';

channelContract('slack by Socket Mode', slack, () => openSlackMessenger());
channelContract('slack by the Events API', slack, openSlackMessenger);
