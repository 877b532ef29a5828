/** The fixture server for `npm run test:protocols`: prints its URL, and ends with its stdin. */
import { startFixtureServer } from './fixture-server.ts';

const server = await startFixtureServer();
console.log(server.url);
process.stdin.resume().once('end', () => {
  void server.close();
});
