import { Counter, type Registry } from 'prom-client';
import { BoundedMap } from '#lib/bounded.ts';

/** Something in an answer that version 0.8 of the interface does not explain. */
export interface InterfaceChange {
  readonly operation: string;
  /** Member path, elements of lists as `[]`; `body` for the whole. The names are the contract's, not the server's. */
  readonly path: string;
  readonly what:
    | 'missing'
    /** Another JSON type than described. */
    | 'type'
    /** A word that is in no list. */
    | 'value'
    /** Inside another object or list, or not inside the one described. */
    | 'wrapped'
    | 'status'
    /** Not JSON at all. */
    | 'unreadable';
}

/** Where changes are told. */
export interface InterfaceWatch {
  note(change: InterfaceChange): void;
}

export interface InterfaceWatchOptions {
  /** The port: told each distinct change once; raises the event `cloud_interface_changed`. */
  readonly onChange: (change: InterfaceChange) => void;
  readonly metrics?: Registry;
}

const distinctKept = 512;

/** Counts every change and tells each distinct one once. Above 512 distinct ones the oldest may be told again. */
export function interfaceWatch({ onChange, metrics }: InterfaceWatchOptions): InterfaceWatch {
  const told = new BoundedMap<string, true>(distinctKept);
  const counter =
    metrics &&
    new Counter({
      name: 'siteward_cloud_interface_changes_total',
      help: 'Answers of the cloud that its described interface does not explain',
      labelNames: ['operation', 'what'] as const,
      registers: [metrics],
    });
  return {
    note(change) {
      counter?.inc({ operation: change.operation, what: change.what });
      const key = `${change.operation} ${change.path} ${change.what}`;
      if (told.has(key)) return;
      told.set(key, true);
      onChange(change);
    },
  };
}
