/**
 * Locks a folder by the given method, prints `locked` or the error, and runs until it is killed.
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
