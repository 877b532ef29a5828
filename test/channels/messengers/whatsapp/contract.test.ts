import { whatsapp } from '../../../../channels/messengers/whatsapp/adapter.ts';
import { channelContract } from '../contract.ts';
import { openWhatsAppMessenger } from './whatsapp-messenger.ts';

channelContract('whatsapp', whatsapp, openWhatsAppMessenger);
