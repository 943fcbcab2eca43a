// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Everything that an instantiation of EventEngine needs: the class and the definitions of its
/// members and of DeviceSide's, which have files of their own.
#include "sim/engine/device_calls.hpp"
#include "sim/engine/device_collectives.hpp"
#include "sim/engine/device_graphs.hpp"
#include "sim/engine/device_streams.hpp"
#include "sim/engine/dispatched_run.hpp"
#include "sim/engine/event_engine.hpp"
#include "sim/engine/event_engine_end.hpp"
#include "sim/engine/graph_calls.hpp"
#include "sim/engine/host_calls.hpp"
#include "sim/engine/host_messages.hpp"
