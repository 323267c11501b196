package io.unifiedcache.backend.mooncake;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a client joins a cluster and stores objects, in Mooncake's words.
 *
 * @param localHostname how others reach this client, with a port
 * @param metadataServer where addresses are found out; {@code P2PHANDSHAKE} for none
 * @param globalSegmentSize bytes of a segment that this client gives to the cluster; 0 for none
 * @param localBufferSize bytes of the client's own buffer
 * @param protocol the transport
 * @param deviceName the devices of the transport, or empty
 * @param masterServerAddress the master's host and port
 * @param tenant the tenant, or empty for Mooncake's default
 * @param replicaNum copies of each object
 * @param softPin whether objects are evicted only after others
 * @param hardPin whether objects are never evicted
 * @param preferredSegments the segments to put objects into where they have room
 * @param ssdPath the directory on an SSD, shared with other clients, to which objects in the
 *     segment of this client are moved; null for none
 */
record ClientSetup(
    String localHostname,
    String metadataServer,
    long globalSegmentSize,
    long localBufferSize,
    String protocol,
    String deviceName,
    String masterServerAddress,
    String tenant,
    int replicaNum,
    boolean softPin,
    boolean hardPin,
    List<String> preferredSegments,
    @Nullable String ssdPath) {
  ClientSetup {
    preferredSegments = List.copyOf(preferredSegments);
  }

  /** Returns this with another name of the host. */
  ClientSetup at(String hostname) {
    return new ClientSetup(
        hostname,
        metadataServer,
        globalSegmentSize,
        localBufferSize,
        protocol,
        deviceName,
        masterServerAddress,
        tenant,
        replicaNum,
        softPin,
        hardPin,
        preferredSegments,
        ssdPath);
  }
}
