/** The servers of WebSockets, which are loaded together (upgrades.ts). */
export { InspectionSockets } from './inspection-sockets.ts';
export { SocketServer } from './socket-server.ts';
