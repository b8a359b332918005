import { audioSite } from './audio-rig.ts';

// Plays a message and is killed meanwhile. Arguments: the state directory, then the configuration.
const [dir = '', yaml = ''] = process.argv.slice(2);
const site = audioSite(dir);
await site.start(yaml);
const find = (key: string) => {
  const message = site.house.audio?.library.find(key);
  if (message === undefined) throw new Error(`no message ${key}`);
  return { id: key, key, name: message.name, sha256: message.sha256 };
};
site.house.audio?.play({
  id: 'sounding',
  ...{ message: find('alarm.siren'), category: 'alarm', volume: 70, repeat: 5, requestedBy: 'rule:fire' },
  alarm: { cause: 'fire', id: 'incident-2' },
});
await site.house.audio?.begun('sounding', 5_000, new AbortController().signal);
// Behind it: an alarm that still waits, of a partition that is disarmed by the next start, and a greeting.
site.house.audio?.play({
  id: 'waiting-burglary',
  ...{ message: find('alarm.siren'), category: 'alarm', volume: 70, repeat: 1, requestedBy: 'rule:night' },
  alarm: { cause: 'burglary', id: 'incident-1', partition: 'p1' },
});
site.house.audio?.play({
  id: 'waiting-announcement',
  ...{ message: find('announcement.chime'), category: 'announcement', volume: 70, repeat: 1, requestedBy: 'local' },
});
await new Promise((resolve) => setTimeout(resolve, 500));
process.stdout.write('sounding\n');
