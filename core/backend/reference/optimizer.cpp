// AdamW.
#include "backend/reference/reference.h"

namespace pesuite::reference {

void Reference::adamw(Out norm, std::span<const Update> updates, const AdamW& o) {
  double squares = 0;
  for (const Update& u : updates)
    for (Index i = 0; i < u.grad.shape.count(); ++i) squares += in(u.grad)[i] * in(u.grad)[i];
  const double total = std::sqrt(squares) / o.loss_scale;
  out(norm)[0] = total;
  if (!std::isfinite(total)) return;
  const double factor = (o.clip > 0 && total > o.clip ? o.clip / total : 1) / o.loss_scale;
  const double c1 = 1 - std::pow(o.beta1, static_cast<double>(o.step)),
               c2 = 1 - std::pow(o.beta2, static_cast<double>(o.step));
  for (const Update& u : updates)
    for (Index i = 0; i < u.grad.shape.count(); ++i) {
      const double g = in(u.grad)[i] * factor;
      double &m = out(u.m)[i], &v = out(u.v)[i], &x = out(u.value)[i];
      m = o.beta1 * m + (1 - o.beta1) * g;
      v = o.beta2 * v + (1 - o.beta2) * g * g;
      x -= o.lr * (m / c1 / (std::sqrt(v / c2) + o.eps) + u.weight_decay * x);
    }
}

}  // namespace pesuite::reference
