// The paper of GRAPE-A and GRAPE-AP.
#pragma once

inline constexpr char grape_paper[] = "Zhang et al. 2025, arXiv:2512.07805";
inline constexpr char grape_bibtex[] =
    "@inproceedings{zhang2026grape, title={Group Representational Position Encoding}, "
    "author={Zhang, Yifan and Chen, Zixiang and Liu, Yifeng and Qin, Zhen and Yuan, Huizhuo and "
    "Xu, "
    "Kangping and Yuan, Yang and Gu, Quanquan and Yao, Andrew Chi-Chih}, booktitle={ICLR}, "
    "year={2026}}";
