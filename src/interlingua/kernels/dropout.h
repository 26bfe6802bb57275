// Dropout without a mask in memory.
#pragma once

#include "native.h"

namespace {

// A decision for element i depends on nothing but i and two keys, so that the backward pass draws it again
// instead of reading a mask. The finaliser is Wellons' lowbias32 (2018), once with each key.
inline uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

struct Dropout {
    uint32_t key0, key1, threshold;  // dropped when the draw is below the threshold
    float scale;

    float operator()(uint32_t i) const {  // no branch: compilers then compute many at once
        const uint32_t kept = 0u - static_cast<uint32_t>(mixed(mixed(i ^ key0) + key1) >= threshold);
        uint32_t bits;
        std::memcpy(&bits, &scale, 4);
        bits &= kept;
        float f;
        std::memcpy(&f, &bits, 4);
        return f;
    }
};

}  // namespace
