/** What the rules say, in the words of a technician. Rules with a name of their own speak for themselves. */
const words: Readonly<Record<string, string>> = {
  C1: 'a command counts for a time',
  C2: 'a repeated command gets the first answer',
  C3: 'newer local change',
  C4: 'the cloud tells how it stands, and commands nothing',
  C5: 'after an outage nothing of the cloud disarms',
  C6: 'our own word, read at the cloud',
  C8: 'too many commands or wrong codes',
  C9: 'refused: nothing changes',
  C10: 'protection goes on while the mode changes',
  C11: 'not during an alarm',
  C12: 'a schedule disarms only what it armed',
  I3: 'nothing but a person or a fresh command disarms',
  I4: 'a disarm has somebody who gave it',
  I6: 'a panel says how it stands',
  I13: 'less protection needs the right to disarm',
  'safety 1': 'life safety depends on no arming',
  'safety 2': 'unknown is not disarmed',
  'safety 3': 'detectors settle after a start of the machine',
  'safety 5': 'a person on the site goes first',
  'safety 7': 'an arming by the clock is put off within bounds and with a code, and told when it fails',
  'safety 8': 'alarms of one cause are capped',
};

/** "newer local change (C3)". */
export const ruleText = (rule: string): string => (words[rule] === undefined ? rule : `${words[rule]} (${rule})`);
