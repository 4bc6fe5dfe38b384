import type { KubectlResult } from "../support/kubectl.ts";

/** Takes a line about what takes long. */
export type Progress = (line: string) => void;

/** What to build an image from. */
export interface BuildRequest {
  /** Path of the Dockerfile. */
  readonly dockerfile: string;
  /** The folder that its COPY lines start from. */
  readonly context: string;
  /** Values of its ARG lines. `BASE_IMAGE`, an image with Node 24, is given by the provider unless named here. */
  readonly buildArgs?: Readonly<Record<string, string>>;
  /** The image's whole name, as pods write it: `localhost/echo:1`. */
  readonly tag: string;
  /** Path of the archive to write. */
  readonly archive: string;
}

/** A port of a service. */
export interface ServicePort {
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
}

/** A port of 127.0.0.1 that leads to a service, for as long as this process lives. */
export interface Forward {
  readonly url: string;
  close(): Promise<void>;
}

/** A Kubernetes cluster with at least one node that runs pods. */
export interface Cluster {
  /** Path of a kubeconfig whose user may do anything and that works on this machine, for kubectl and helm alike. */
  readonly kubeconfig: string;
  /** Runs kubectl to its end; a failed command is a result, not an error. */
  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult>;
  /** Builds an image into an archive. @throws Error with the builder's last lines */
  buildImage(request: BuildRequest): Promise<void>;
  /** Hands an archive's images to the nodes; pods then use them with `imagePullPolicy: Never`. */
  loadImage(archive: string): Promise<void>;
  /** Makes a service reachable from this machine. */
  forward(to: ServicePort): Promise<Forward>;
}

/** A way to come by a cluster. */
export interface ClusterProvider {
  /**
   * Starts the cluster, or finds it running; whatever is left of a crashed one goes first.
   *
   * @throws Error with what is missing or went wrong, or the signal's reason; nothing is left behind then
   */
  up(progress: Progress, signal?: AbortSignal): Promise<Cluster>;
  /** Ends the cluster and removes all of it; does nothing when there is none. */
  down(progress: Progress): Promise<void>;
}
