/**
 * Takes the lock of a folder by the given means, says `locked` or why not, and stays until killed.
 */
import { lockFolder } from '../../../runtime/log/folder-lock.ts';

const [folder = '', means] = process.argv.slice(2);
try {
  await lockFolder(folder, means === 'socket' ? 'socket' : 'flock');
  console.log('locked');
  process.stdin.resume();
} catch (error) {
  console.log(`refused ${(error as Error).message}`);
}
