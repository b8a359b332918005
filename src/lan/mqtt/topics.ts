/** Topic arithmetic of MQTT 3.1.1 section 4.7. */

/** Whether a filter takes a topic. Wildcards at the start never take `$SYS` and its kind. */
export function matches(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && !filter.startsWith('$')) return false;
  return overlaps(filter, topic);
}

/** Whether some topic is taken by both filters. */
export function overlaps(left: string, right: string): boolean {
  const a = left.split('/');
  const b = right.split('/');
  for (let level = 0; ; level += 1) {
    // "a/#" takes "a" itself, so a `#` also ends the comparison one level early.
    if (a[level] === '#' || b[level] === '#') return true;
    if (level >= a.length || level >= b.length) return a.length === b.length;
    if (a[level] !== b[level] && a[level] !== '+' && b[level] !== '+') return false;
  }
}
