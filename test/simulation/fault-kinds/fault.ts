/** What a fault means for its kind. */
export type FaultValues = {
  readonly at: number;
  /** How long it lasts. */
  readonly ms: number;
  /** Which broker; 0 for all. */
  readonly broker: number;
  readonly chance: number;
  /** What it means depends on the kind. */
  readonly value: number;
};

/** Begins the fault. @returns what ends it */
export type Begin<Scene> = (scene: Scene, fault: FaultValues) => (() => void) | undefined;

/** A kind of fault in a scene, and the systems that can meet it. */
export type Kind<Scene, System> = {
  readonly begin: Begin<Scene>;
  /** Longest duration, in milliseconds. */
  readonly most: number;
  readonly isPossible?: (system: System) => boolean;
};

/** A fault that is over when it has begun. */
export const once =
  <Scene>(act: (scene: Scene, fault: FaultValues) => void): Begin<Scene> =>
  (scene, fault) => {
    act(scene, fault);
    return undefined;
  };
